"""The command line: parsing, printing and one file per command."""
