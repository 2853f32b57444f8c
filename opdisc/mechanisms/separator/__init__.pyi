from .mechanism import SeparatorMechanism as SeparatorMechanism, SeparatorSpec as SeparatorSpec
