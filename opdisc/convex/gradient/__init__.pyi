from .full_gradient import (
    accelerated_mirror_descent as accelerated_mirror_descent,
    gradient_descent as gradient_descent,
    plan_accelerated_steps as plan_accelerated_steps,
    plan_descent_steps as plan_descent_steps,
)
from .one_pass import mirror_descent as mirror_descent
from .stochastic import noisy_sgd as noisy_sgd, plan_batches as plan_batches
from .variance_reduced import SVRGPlan as SVRGPlan, plan_epochs as plan_epochs, svrg as svrg
