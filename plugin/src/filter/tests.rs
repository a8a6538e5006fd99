//! The filter against a host in memory.
