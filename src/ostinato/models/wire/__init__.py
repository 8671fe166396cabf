"""Pure conversions between our records and what the providers' APIs read and write; no SDK here."""
