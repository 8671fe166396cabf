"""Pure conversions between our records and the providers' JSON; no SDK is imported here."""
