/** The program cannot start as it was told; the message is one sentence for a person. */
export class StartError extends Error {
  override name = 'StartError'
}
