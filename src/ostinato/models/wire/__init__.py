"""Contents to and from the providers' JSON, as plain functions; no SDK is needed here."""
