"""A receipt for ledgers to record."""

from opdisc.privacy.receipts.grid_receipt import GridReceipt


def receipt(epsilon=0.1, delta=0.0, delta_numerical=0.0):
    """Return a receipt that promises something."""
    return GridReceipt(
        mechanism="m",
        theorem="t",
        calibration="proven",
        epsilon=epsilon,
        delta=delta,
        delta_numerical=delta_numerical,
        relation="replace_one",
        privacy_unit="one row",
        sensitivity=2,
        allowance=0.0,
        noise_law="law",
        noise_scales=(1.0,),
        spacing=2.0**-10,
        schema_digest="0" * 64,
        n_rows=10,
        weights=((-1, 0, 1),),
        norm_budget=None,
        oracle="enumeration",
        versions={"opdisc": "0"},
        guarantee="HOLDS",
        conditions=(),
        choice="",
    )
