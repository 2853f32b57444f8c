from .listing import all_losses as all_losses
