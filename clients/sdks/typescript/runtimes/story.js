/**
 * What each runtime does with the packed SDK. It takes its parts as arguments, because a Worker has
 * neither an environment nor a current folder.
 *
 * @param {typeof import('../src/sdk.ts')} sdk
 * @param {{ token: string, baseUrl: string, capturedAt: string }} options
 */
export async function tellStory({ AuthenticationError, consent, hash, Signalbox }, options) {
  const { token, baseUrl, capturedAt } = options
  const client = new Signalbox({ token, baseUrl })
  const purchase = {
    event_id: 'order-1',
    event_name: 'Purchase',
    event_time: new Date(capturedAt),
    consent_basis: 'consent',
    consent: consent.granted({ captured_at: new Date(capturedAt) }),
    user_data: { em: await hash.email('Ada@Example.com') },
    value_data: { value: '19.90', currency: 'EUR' },
  }
  const created = await client.events.create(purchase)
  const again = await client.events.create(purchase)
  const queue = client.queue()
  for (let count = 0; count < 3; count += 1) queue.add({ ...purchase, event_id: `queued-${count}` })
  const { outcomes } = await queue.close({ timeout: 10_000 })
  const ids = []
  for await (const { id } of client.events.list({ per_page: 2 })) ids.push(id)
  const { event } = await client.events.get('order-1')
  let userAgent = ''
  const ownFetch = (url, init) => {
    userAgent = new Headers(init.headers).get('user-agent')
    return fetch(url, init)
  }
  const stranger = new Signalbox({ token: 'sbx_sk_unknown', baseUrl, fetch: ownFetch })
  const refused = await stranger.events.verify().catch(error => error)
  return {
    runtime: userAgent.split(' ')[1].split('/')[0],
    duplicates: [created.duplicate, again.duplicate],
    hasRequestId: /^req_/.test(created.lastResponse.requestId ?? ''),
    outcomes: outcomes.map(({ status }) => status),
    ids: ids.sort(),
    value: event.value_amount,
    isAuthenticationError: refused instanceof AuthenticationError,
    isSilent: !JSON.stringify([refused, String(refused), refused.stack]).includes('sbx_sk_'),
  }
}
