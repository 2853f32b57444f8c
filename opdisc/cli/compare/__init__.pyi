from .command import compare as compare
