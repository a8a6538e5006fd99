//! Endpoints over a host in memory.
