/**
 * The signals that stop a program: a supervisor's, those of Ctrl-C and Ctrl-\, and that of a terminal that closes.
 */
export const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] as const;
