from .processes import PeerProcess as PeerProcess
