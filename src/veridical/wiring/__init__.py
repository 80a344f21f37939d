"""Construction of verifiers, backends, stores and memories from the settings."""
