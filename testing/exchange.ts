import { connect } from 'node:net'

export interface Exchange {
  text: string
  head: string
  body: string
  /** How many status lines came back. */
  answers: number
}

/**
 * Sends bytes as they are, and reads until the other side closes the connection. `thenEnd` says to
 * it that nothing more comes, and goes on listening.
 */
export function exchange(
  url: string,
  bytes: string | Buffer,
  { thenEnd = false } = {},
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    let text = ''
    const place = { port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: thenEnd }
    const socket = connect(place, () => (thenEnd ? socket.end(bytes) : socket.write(bytes)))
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
    })
    // The other side may close before it has read all that was sent; what it said has come by then.
    socket.on('error', error => (text === '' ? reject(error) : undefined))
    socket.on('close', () => {
      const [head = '', body = ''] = text.split(/(?<=\r\n)\r\n/, 2)
      resolve({ text, head, body, answers: text.split(/HTTP\/1\.1 \d{3} /).length - 1 })
    })
  })
}
