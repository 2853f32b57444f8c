"""What the solvers' own statuses mean; one that is missing here is refused.

Every grid has a hypothesis and every loss is finite, so "infeasible" and "unbounded" can only be
numerical.
"""

from __future__ import annotations

from oracles.interface import Limit, Termination

_PROVED = (Termination.OPTIMAL, None)
_WRONG = (Termination.NO_HYPOTHESIS, Limit.NUMERICAL)
_NOTHING = (Termination.NO_HYPOTHESIS, Limit.UNKNOWN)
_TIME = (Termination.FEASIBLE, Limit.TIME)
_NODES = (Termination.FEASIBLE, Limit.NODE)
_MEMORY = (Termination.FEASIBLE, Limit.MEMORY)
_STOPPED = (Termination.FEASIBLE, Limit.INTERRUPTED)
_SLOPPY = (Termination.FEASIBLE, Limit.NUMERICAL)
_UNKNOWN = (Termination.FEASIBLE, Limit.UNKNOWN)

GUROBI = {
    "LOADED": _NOTHING,
    "OPTIMAL": _PROVED,
    "INFEASIBLE": _WRONG,
    "INF_OR_UNBD": _WRONG,
    "UNBOUNDED": _WRONG,
    "CUTOFF": _WRONG,
    "ITERATION_LIMIT": _NODES,
    "NODE_LIMIT": _NODES,
    "TIME_LIMIT": _TIME,
    "SOLUTION_LIMIT": _NODES,
    "INTERRUPTED": _STOPPED,
    "NUMERIC": _SLOPPY,
    "SUBOPTIMAL": _SLOPPY,
    "INPROGRESS": _NOTHING,
    "USER_OBJ_LIMIT": _UNKNOWN,
    "WORK_LIMIT": _UNKNOWN,
    "MEM_LIMIT": _MEMORY,
    "LOCALLY_OPTIMAL": _UNKNOWN,
    "LOCALLY_INFEASIBLE": _WRONG,
}
"""``GRB.Status``."""

CPLEX = {
    "unknown": _NOTHING,
    "MIP_optimal": _PROVED,
    "optimal_tolerance": _PROVED,
    "MIP_optimal_infeasible": _SLOPPY,
    "MIP_infeasible": _WRONG,
    "MIP_infeasible_or_unbounded": _WRONG,
    "MIP_unbounded": _WRONG,
    "MIP_time_limit_feasible": _TIME,
    "MIP_time_limit_infeasible": _TIME,
    "MIP_dettime_limit_feasible": _UNKNOWN,
    "MIP_dettime_limit_infeasible": _UNKNOWN,
    "node_limit_feasible": _NODES,
    "node_limit_infeasible": _NODES,
    "solution_limit": _NODES,
    "mem_limit_feasible": _MEMORY,
    "mem_limit_infeasible": _MEMORY,
    "MIP_abort_feasible": _STOPPED,
    "MIP_abort_infeasible": _STOPPED,
    "fail_feasible": _SLOPPY,
    "fail_infeasible": _SLOPPY,
    "fail_feasible_no_tree": _SLOPPY,
    "fail_infeasible_no_tree": _SLOPPY,
}
"""Those of ``solution.status`` that a mixed-integer program may end with; others are for linear
programs, relaxations, conflicts, solution pools and several objectives."""

XPRESS = {
    "UNSTARTED": _NOTHING,
    "FAILED": _SLOPPY,
    "COMPLETED OPTIMAL": _PROVED,
    "COMPLETED FEASIBLE": _UNKNOWN,
    "COMPLETED NOTFOUND": _NOTHING,
    "COMPLETED INFEASIBLE": _WRONG,
    "COMPLETED UNBOUNDED": _WRONG,
    "STOPPED NONE": _UNKNOWN,
    "STOPPED TIMELIMIT": _TIME,
    "STOPPED CTRLC": _STOPPED,
    "STOPPED NODELIMIT": _NODES,
    "STOPPED ITERLIMIT": _NODES,
    "STOPPED MIPGAP": _PROVED,
    "STOPPED SOLLIMIT": _NODES,
    "STOPPED GENERICERROR": _SLOPPY,
    "STOPPED MEMORYERROR": _MEMORY,
    "STOPPED USER": _STOPPED,
    "STOPPED SOLVECOMPLETE": _UNKNOWN,
    "STOPPED LICENSELOST": _UNKNOWN,
    "STOPPED NUMERICALERROR": _SLOPPY,
    "STOPPED WORKLIMIT": _UNKNOWN,
    "STOPPED NEXTOBJECTIVE": _UNKNOWN,
    "STOPPED MIPSTAGE": _UNKNOWN,
}
"""``SolveStatus``, with ``SolStatus`` where it completed and ``StopType`` where it stopped."""

COPT = {
    "UNSTARTED": _NOTHING,
    "OPTIMAL": _PROVED,
    "INFEASIBLE": _WRONG,
    "UNBOUNDED": _WRONG,
    "INF_OR_UNB": _WRONG,
    "NUMERICAL": _SLOPPY,
    "NODELIMIT": _NODES,
    "IMPRECISE": _SLOPPY,
    "TIMEOUT": _TIME,
    "UNFINISHED": _UNKNOWN,
    "INTERRUPTED": _STOPPED,
    "ITERLIMIT": _NODES,
}
"""``MipStatus``."""

MOSEK = {
    "none": _NOTHING,
    "integer_optimal": _PROVED,
    "optimal": _UNKNOWN,
    "unknown": _NOTHING,
    "prim_feas": _UNKNOWN,
    "dual_feas": _NOTHING,
    "prim_and_dual_feas": _UNKNOWN,
    "prim_infeas_cer": _WRONG,
    "dual_infeas_cer": _WRONG,
    "prim_illposed_cer": _WRONG,
    "dual_illposed_cer": _WRONG,
    "trm_max_time": _TIME,
    "trm_max_iterations": _NODES,
    "trm_objective_range": _UNKNOWN,
    "trm_stall": _SLOPPY,
    "trm_user_callback": _STOPPED,
    "trm_mio_num_relaxs": _NODES,
    "trm_mio_num_branches": _NODES,
    "trm_num_max_num_int_solutions": _NODES,
    "trm_max_num_setbacks": _SLOPPY,
    "trm_numerical_problem": _SLOPPY,
    "trm_lost_race": _UNKNOWN,
    "trm_internal": _SLOPPY,
    "trm_internal_stop": _SLOPPY,
    "trm_server_max_time": _TIME,
    "trm_server_max_memory": _MEMORY,
}
"""``rescode`` where that says what ended the search, else ``solsta``. Read in the manual and in
the module: without a licence only the refusal was run."""

SCIP = {
    "unknown": _NOTHING,
    "userinterrupt": _STOPPED,
    "terminate": _STOPPED,
    "nodelimit": _NODES,
    "totalnodelimit": _NODES,
    "stallnodelimit": _NODES,
    "timelimit": _TIME,
    "memlimit": _MEMORY,
    "gaplimit": _PROVED,
    "primallimit": _UNKNOWN,
    "duallimit": _UNKNOWN,
    "sollimit": _NODES,
    "bestsollimit": _NODES,
    "restartlimit": _NODES,
    "optimal": _PROVED,
    "infeasible": _WRONG,
    "unbounded": _WRONG,
    "inforunbd": _WRONG,
}
"""What ``getStatus`` says."""
