//! Scripts with faults.
