import type { DeliverMail, Mail, Mails } from './mails.ts'

export interface MailQueueOptions {
  deliver: DeliverMail
  /** Told of a mail that could not be sent; the error may name the server, never the recipient. */
  onFailure: (code: string) => void
}

const WAITING_MAX = 1_000

/**
 * Sends one mail after the other, in the background: whoever asks for a mail is answered at once,
 * and so alike whether there is a mail or not. What waits is lost when the process dies; people ask
 * again.
 */
export class MailQueue implements Mails {
  readonly #options: MailQueueOptions
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: MailQueueOptions) {
    this.#options = options
  }

  send(mail: Mail): void {
    const { deliver, onFailure } = this.#options
    if (this.#waiting >= WAITING_MAX) {
      onFailure('too many mails wait')
      return
    }
    this.#waiting += 1
    this.#last = this.#last
      .then(() => deliver(mail))
      .catch(error => onFailure(String((error as { code?: unknown }).code ?? 'no answer')))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  /** Waits until everything that was handed in is away. */
  drain(): Promise<void> {
    return this.#last
  }
}
