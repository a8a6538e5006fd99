//! The rules hold, the generated files are fresh, and the automaton agrees with its slow twin.
