/** One mail, in plain text: nothing in it can be loaded or clicked by accident. */
export interface Mail {
  /** One address, checked by `emailAddress`. */
  to: string
  subject: string
  text: string
}

/**
 * Where mails are handed in. Nobody who asks for one waits for it, nor hears whether it arrived.
 */
export interface Mails {
  send(mail: Mail): void
}

/** Brings one mail away. Throws when it could not. */
export type DeliverMail = (mail: Mail) => Promise<void>
