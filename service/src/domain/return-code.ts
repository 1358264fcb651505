// The one table of return codes. A command's return code is its exit code, or 128 + the number of the signal that ended
// it, as every shell has it; what never became a process gets the codes that shells and container engines use for it.
//
//   what happened                                     code      kind
//   it exited with n                                  n         exited (129 to 159: signaled, see below)
//   it was ended by signal n, also by a limit         128 + n   signaled
//   out of memory, where a control group holds it     137       signaled, limit memory
//   a file grew past its limit                        153       signaled, limit file size
//   the program of its last word was not found        127       exited, by the shell
//   the program was found and could not be executed   126       exited, by the shell
//   command and environment are too long together     126       exited, by the launcher
//   its folder is missing, or is no folder            126       never started
//   a variable that no shell can export               126       never started
//   no shell on the host                              127       never started
//   the isolation could not be set up                 125       never started
//   canceled, timed out, output lost                  as it ended: its exit code, or 128 + the signal that it took;
//                                                     128 + the last signal sent when it answered with 0, because what
//                                                     was stopped did not succeed
//
// A process that was ended by a signal below a shell and one that exits with 128 + n look the same from outside, so both
// are called signaled.

export const NOT_ISOLATED = 125
export const NOT_EXECUTABLE = 126
export const NOT_FOUND = 127

const SIGNALS = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGKILL',
  'SIGUSR1',
  'SIGSEGV',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGSTKFLT',
  'SIGCHLD',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGXCPU',
  'SIGXFSZ',
  'SIGVTALRM',
  'SIGPROF',
  'SIGWINCH',
  'SIGIO',
  'SIGPWR',
  'SIGSYS',
] as const

/** 128 + its number; a name that Linux does not have counts as SIGKILL. */
export function signalCode(signal: string): number {
  const at = (SIGNALS as readonly string[]).indexOf(signal)
  return 128 + (at === -1 ? SIGNALS.indexOf('SIGKILL') : at) + 1
}

/** The signal that a return code stands for, or null. */
export const signalOf = (code: number): string | null => SIGNALS[code - 129] ?? null

export interface ProcessExit {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: string | null
}

export const exitCode = ({ code, signal }: ProcessExit): number => code ?? signalCode(signal ?? 'SIGKILL')

/** The code of a command that was stopped, `last` being the last signal that was sent to it. */
export function stoppedCode(exit: ProcessExit, last: string): number {
  const code = exitCode(exit)
  return code === 0 ? signalCode(last) : code
}
