"""Methods of other libraries, run in environments of their own."""
