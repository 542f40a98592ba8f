interface MailQueueOptions {
  transport: EmailTransport
  /** Receives the error code of a failed email, never its recipient. */
  onFailure: (code: string) => void
}

const QUEUED_EMAILS_MAX = 1_000

/**
 * Sends emails one after another in the background. An email starts after the response that
 * requested it, so the time of a response does not reveal whether an email is sent. Queued emails
 * are lost when the process exits; people can request them again.
 */
export class MailQueue implements Mailer {
  readonly #options: MailQueueOptions
  #queued = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: MailQueueOptions) {
    this.#options = options
  }

  send(email: Email): void {
    const { transport, onFailure } = this.#options
    if (this.#queued >= QUEUED_EMAILS_MAX) {
      onFailure('queue_full')
      return
    }
    this.#queued += 1
    this.#last = this.#last
      .then(() => new Promise(setImmediate))
      .then(() => transport(email))
      .catch(error => onFailure(String((error as { code?: unknown }).code ?? 'no_response')))
      .finally(() => {
        this.#queued -= 1
      })
  }

  /** Resolves when all queued emails are sent or have failed. */
  drain(): Promise<void> {
    return this.#last
  }
}

/** Plain text, without content to load. */
export interface Email {
  /** One address, checked by `parseEmailAddress`. */
  to: string
  subject: string
  text: string
}

/** Queues an email. The caller neither waits nor learns whether it arrives. */
export interface Mailer {
  send(email: Email): void
}

/** Sends one email. Throws when it fails. */
export type EmailTransport = (email: Email) => Promise<void>
