from .kernels import fill_parts as fill_parts, join_parts as join_parts
from .plan import (
    ProductArrays as ProductArrays,
    new_product_scratch as new_product_scratch,
    plan_product as plan_product,
)
