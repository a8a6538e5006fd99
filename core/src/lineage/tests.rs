//! Tests of lineage from inside.
