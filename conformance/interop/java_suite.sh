check_java_suite() { :; }
