interface MailQueueOptions {
  transport: EmailTransport
  /** Told of a mail that could not be sent; the error may name the server, never the recipient. */
  onFailure: (code: string) => void
}

const QUEUED_EMAILS_MAX = 1_000

/**
 * Sends one mail after the other, in the background: whoever asks for a mail is answered at once,
 * and so alike whether there is a mail or not. What waits is lost when the process dies; people ask
 * again.
 */
export class MailQueue implements Mailer {
  readonly #options: MailQueueOptions
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: MailQueueOptions) {
    this.#options = options
  }

  send(mail: Email): void {
    const { transport: deliver, onFailure } = this.#options
    if (this.#waiting >= QUEUED_EMAILS_MAX) {
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

/** One mail, in plain text: nothing in it can be loaded or clicked by accident. */
export interface Email {
  /** One address, checked by `parseEmailAddress`. */
  to: string
  subject: string
  text: string
}

/**
 * Where mails are handed in. Nobody who asks for one waits for it, nor hears whether it arrived.
 */
export interface Mailer {
  send(mail: Email): void
}

/** Brings one mail away. Throws when it could not. */
export type EmailTransport = (mail: Email) => Promise<void>
