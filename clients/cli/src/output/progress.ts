import type { CommandContext } from '../command-context.ts'

const BAR_WIDTH = 24
const REDRAW_MILLISECONDS = 100
const PLAIN_LINES = 10

/** A bar on a terminal, ten plain lines elsewhere, nothing with --quiet. */
export class Progress {
  readonly #context: CommandContext
  readonly #label: string
  readonly #total: number
  readonly #startedAt = performance.now()
  #done = 0
  #drawnAt = 0

  constructor(context: CommandContext, label: string, total: number) {
    this.#context = context
    this.#label = label
    this.#total = Math.max(total, 1)
  }

  /** `note` follows the figures, such as `3 refused`. */
  step(note: string, count = 1): void {
    this.#done += count
    const { host, isQuiet } = this.#context
    if (isQuiet) return
    if (!host.stderr.isTerminal) {
      const part = (count: number) => Math.floor((count * PLAIN_LINES) / this.#total)
      if (part(this.#done) > part(this.#done - count)) this.#write(`${this.#figures(note)}\n`)
      return
    }
    const now = performance.now()
    if (now - this.#drawnAt < REDRAW_MILLISECONDS) return
    this.#drawnAt = now
    this.#write(`\r\u001b[K${this.#bar()} ${this.#figures(note)}`)
  }

  /** Removes the bar; what was done follows on standard output. */
  end(): void {
    if (!this.#context.isQuiet && this.#context.host.stderr.isTerminal) this.#write('\r\u001b[K')
  }

  #bar(): string {
    const filled = Math.min(BAR_WIDTH, Math.round((this.#done * BAR_WIDTH) / this.#total))
    const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
    return `${this.#label} ${this.#context.messageStyle('green', bar)}`
  }

  #figures(note: string): string {
    const count = (value: number) => value.toLocaleString('en-US')
    const seconds = (performance.now() - this.#startedAt) / 1_000
    const rate = `${count(Math.round(this.#done / Math.max(seconds, 0.001)))}/s`
    return [`${count(this.#done)}/${count(this.#total)}`, rate, note].filter(Boolean).join('  ')
  }

  #write(text: string): void {
    void this.#context.host.stderr.write(text)
  }
}
