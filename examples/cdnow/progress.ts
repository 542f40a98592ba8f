export interface Progress {
  /** Counts one more step. */
  step(): void
}

interface Screen {
  isTTY?: boolean
  write(text: string): unknown
}

const BAR_CHARACTERS = 30
const PLAIN_STEPS = 10

/**
 * Shows the progress of a long task: a bar on a terminal, ten plain lines otherwise, so that log
 * files stay readable.
 */
export function showProgress(what: string, total: number, screen: Screen): Progress {
  let done = 0
  let shown = 0
  const step = () => {
    done += 1
    const share = Math.floor((done * (screen.isTTY ? 100 : PLAIN_STEPS)) / total)
    if (share === shown) return
    shown = share
    screen.write(screen.isTTY ? barLine(what, done, total) : plainLine(what, done, total))
  }
  return { step }
}

function barLine(what: string, done: number, total: number): string {
  const filled = Math.floor((done * BAR_CHARACTERS) / total)
  const bar = '#'.repeat(filled) + '.'.repeat(BAR_CHARACTERS - filled)
  return `\r${what} [${bar}] ${done}/${total}${done === total ? '\n' : ''}`
}

function plainLine(what: string, done: number, total: number): string {
  return `${what} ${done}/${total}\n`
}
