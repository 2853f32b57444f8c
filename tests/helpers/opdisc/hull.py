"""The hull of a schema's rows, done plainly: its vertices, its gauge, the law of a release."""

import itertools
import math

import numpy as np
from scipy.optimize import linprog

from opdisc.convex.hull.release import transform_of
from oracles.problem import ColumnGroup


def groups(*kinds):
    """Return groups of columns in order, each given as (kind, size)."""
    found, column = [], 1
    for kind, size in kinds:
        found.append(ColumnGroup(columns=tuple(range(column, column + size)), kind=kind))
        column += size
    return tuple(found)


def group_rows(group):
    """Return what the columns of a group may hold."""
    size = len(group.columns)
    if group.kind == "free":
        return [np.array(row) for row in itertools.product((0, 1), repeat=size)]
    if group.kind == "nested":
        return [np.array([1] * k + [0] * (size - k)) for k in range(size + 1)]
    return [np.zeros(size), *np.eye(size)]


def all_rows(shape):
    """Return every row of a shape, the constant first."""
    rows = np.zeros((0, shape.n_columns + 1))
    for parts in itertools.product(*map(group_rows, shape.groups)):
        row = np.zeros(shape.n_columns + 1)
        row[0] = 1
        for group, part in zip(shape.groups, parts, strict=True):
            row[list(group.columns)] = part
        rows = np.vstack([rows, row])
    return rows


def gauge_by_program(shape, noise):
    """Return the least sum of weights of rows and negatives that give ``noise``."""
    rows = all_rows(shape)
    corners = np.vstack([rows, -rows])
    found = linprog(np.ones(len(corners)), A_eq=corners.T, b_eq=noise, method="highs")
    return found.fun


def gauge(shape, noise):
    """Return the gauge in closed form, last axis the coordinates."""
    constant = noise[..., 0]
    worst = np.maximum(0, -constant)
    for group in shape.groups:
        part = noise[..., list(group.columns)]
        if group.kind == "nested":
            part = part - np.concatenate([part[..., 1:], np.zeros_like(part[..., :1])], axis=-1)
        pieces = (
            [part[..., [i]] for i in range(part.shape[-1])] if group.kind == "free" else [part]
        )
        for piece in pieces:
            negative, positive = -np.minimum(piece, 0).sum(-1), np.maximum(piece, 0).sum(-1)
            worst = np.maximum(worst, np.maximum(negative, positive - constant))
    return constant + 2 * worst


def log_density(theta, rows, labels, objective, costs=(1, 1)):
    """Return the log density of the exact minimiser at points, up to a constant.

    ``theta`` has shape (n, 1 + d), plain columns. Labels are -1 and 1; costs are those of a missed
    positive and of a missed negative row.
    """
    transform = transform_of(objective.shape)
    quadratic = float(objective.ridge) * transform.T @ transform
    start = np.array(list(map(float, objective.start))) if objective.start else 0.0
    tilt = -(theta - start) @ quadratic
    curvature = np.broadcast_to(quadratic, (len(theta), *quadratic.shape)).copy()
    for row, label in zip(rows, labels, strict=True):
        cost = costs[0] if label > 0 else costs[1]
        chance = 1 / (1 + np.exp(-(theta @ row)))
        tilt -= (cost * (chance - (label > 0)))[:, None] * row
        curvature += (cost * chance * (1 - chance))[:, None, None] * np.outer(row, row)
    scale = float(objective.scale)
    return np.linalg.slogdet(curvature)[1] - gauge(objective.shape, tilt / scale)


def released_law(rows, labels, objective, limit, per_unit, beyond):
    """Return the chance of every vector of weights up to ``limit``, by quadrature.

    A mapping of tuples to chances; what lies beyond is under None. It checks itself: the masses of
    a finer grid of points add up to the integral of the noise's density.
    """
    dimension = objective.shape.n_columns + 1
    reach = limit + beyond
    line = (np.arange(-reach * per_unit, (reach + 1) * per_unit) + 0.5) / per_unit - 0.5
    points = np.stack(np.meshgrid(*[line] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    logs = log_density(points / objective.resolution, rows, labels, objective)
    masses = np.exp(logs - logs.max())
    whole = math.fsum(masses)
    cells = np.floor(points + 0.5).astype(int)
    inside = np.abs(cells).max(axis=1) <= limit
    side = 2 * limit + 1
    index = np.ravel_multi_index((cells[inside] + limit).T, (side,) * dimension)
    summed = np.bincount(index, weights=masses[inside], minlength=side**dimension) / whole
    found = {
        tuple(np.array(np.unravel_index(i, (side,) * dimension)) - limit): mass
        for i, mass in enumerate(summed)
    }
    return found | {None: 1 - math.fsum(summed)}
