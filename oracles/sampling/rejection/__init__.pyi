from .sampler import PartitionSampler as PartitionSampler
