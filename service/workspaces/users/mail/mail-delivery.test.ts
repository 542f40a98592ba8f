import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { startMailServer } from '../../../../testing/fixtures/mail-server.ts'
import { TestClock } from '../../../../testing/fixtures/test-clock.ts'
import { parseEmailAddress } from '../user-input.ts'
import { createOutboxTransport, createSmtpTransport } from './client.ts'
import { invitationEmail, passwordResetEmail, verificationEmail } from './email-templates.ts'
import { MailQueue } from './mail-queue.ts'

const ORIGIN = 'https://signalbox.example'
const EVIL =
  'Eve\r\nBcc: all@people.example\r\n\r\nhttps://evil.example www.evil.example\u2028\u202e'

it('writes each email to a file that only its owner can read, also in an open folder', async test => {
  const folder = join(emptyFolder(test), 'outbox')
  mkdirSync(folder)
  chmodSync(folder, 0o755)
  const deliver = createOutboxTransport(folder, new TestClock().now)
  const user = { email: 'ada@people.example', name: 'Ada' }
  await deliver(passwordResetEmail(ORIGIN, user, 'one'))
  await deliver(passwordResetEmail(ORIGIN, user, 'two'))
  const files = readdirSync(folder).toSorted()
  assert.deepEqual(files, [
    '2026-11-21T12-00-00.000Z-0001.txt',
    '2026-11-21T12-00-00.000Z-0002.txt',
  ])
  const path = join(folder, files[0] ?? '')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  const text = readFileSync(path, 'utf8')
  assert.match(text, /^To: ada@people\.example\nSubject: Choose a new password\nDate: /)
  assert.match(text, /^https:\/\/signalbox\.example\/reset\?token=one$/m)
})

it('writes the emails of two transports of the same moment to two files', async test => {
  const folder = emptyFolder(test)
  const { now } = new TestClock()
  const email = { to: 'ada@people.example', subject: '', text: '' }
  await createOutboxTransport(folder, now)(email)
  await createOutboxTransport(folder, now)(email)
  assert.equal(readdirSync(folder).length, 2)
})

it('keeps names on one line and without links', () => {
  const names = { workspaceName: EVIL, inviterName: EVIL }
  const invitation = { id: 'x', email: 'a@b.example', role: 'member', ...names } as const
  const user = { email: 'a@b.example', name: EVIL }
  for (const mail of [
    invitationEmail(ORIGIN, invitation),
    verificationEmail(ORIGIN, user, 'token'),
  ]) {
    assert.doesNotMatch(mail.text, /^Bcc|https?:\/\/evil|www\.|\p{Cf}|\u2028|\r/mu)
    assert.doesNotMatch(mail.subject, /[\r\n]/)
  }
})

it('rejects an address that could be read as several', () => {
  const several = [
    ...['a@b.example, c@d.example', 'a@b.example\r\nBcc: c@d.example', '"x" <a@b.example>'],
    ...['a@b', 'a@@b.example', '@b.example', 'a@b.example;', 'a b@c.example', 'a@b.example\0'],
    ...['a!b@c.example', '.a@b.example', 'a.@b.example', 'a..b@c.example', 'a@b.c1'],
    ...[`${'a'.repeat(65)}@b.example`, 'a@-b..example', 'а@b.example', '', 'a@b.example>'],
  ]
  for (const input of [...several, null, 1, ['a@b.example']]) {
    assert.equal(parseEmailAddress(input), null, String(input))
  }
  assert.equal(parseEmailAddress(' Ada+Shop@Mail.People.Example '), 'ada+shop@mail.people.example')
})

it('sends emails one after another in the background and reports failures by code', async () => {
  const sent: string[] = []
  const codes: string[] = []
  const queue = new MailQueue({
    transport: async ({ to }) => {
      if (to === 'bad') throw Object.assign(new Error(`no ${to}`), { code: 'ECONNREFUSED' })
      sent.push(to)
    },
    onFailure: code => codes.push(code),
  })
  for (const to of ['one', 'bad', 'two']) queue.send({ to, subject: '', text: '' })
  assert.deepEqual(sent, [])
  await queue.drain()
  assert.deepEqual(sent, ['one', 'two'])
  assert.deepEqual(codes, ['ECONNREFUSED'])
})

it('starts an email after the response that requested it, whose time must not reveal it', async () => {
  let isResponding = true
  const started: boolean[] = []
  const transport = async () => void started.push(isResponding)
  const queue = new MailQueue({ transport, onFailure: assert.fail })
  queue.send({ to: '', subject: '', text: '' })
  // A response is complete after any number of promises, but within this turn.
  for (let count = 0; count < 100; count += 1) await Promise.resolve()
  isResponding = false
  await queue.drain()
  assert.deepEqual(started, [false])
})

it('limits the queue when the mail server does not respond', async () => {
  const codes: string[] = []
  let release = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const queue = new MailQueue({ transport: () => gate, onFailure: code => codes.push(code) })
  for (let count = 0; count < 1_005; count += 1) queue.send({ to: '', subject: '', text: '' })
  assert.equal(codes.length, 5)
  release()
  await queue.drain()
})

it('sends one recipient, one subject and the text to the mail server', async test => {
  const { url, lines } = await startMailServer(test)
  const deliver = createSmtpTransport({ url, from: 'signalbox@shop.example' })
  const user = { email: 'ada@people.example', name: EVIL }
  const mail = passwordResetEmail(ORIGIN, user, 'token-of-the-link')
  await deliver({ ...mail, subject: `${mail.subject}\r\nBcc: all@people.example` })
  const transcript = lines.join('\n')
  assert.deepEqual(transcript.match(/^RCPT TO:.*$/gm), ['RCPT TO:<ada@people.example>'])
  assert.match(transcript, /^MAIL FROM:<signalbox@shop\.example>/m)
  assert.match(transcript, /^To: ada@people\.example$/m)
  assert.match(transcript, /^Subject: Choose a new password Bcc: all@people\.example$/m)
  assert.match(transcript, /^Auto-Submitted: auto-generated$/m)
  assert.doesNotMatch(transcript, /^Bcc:/m)
})

function emptyFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-mails-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
