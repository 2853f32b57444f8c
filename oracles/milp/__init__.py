"""Mixed-integer programs: the encodings, and a back end for each solver."""
