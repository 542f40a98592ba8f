import { it } from 'node:test'
import { samplePurchase } from '/work/wt-silent/testing/fixtures/sample-events.ts'
import { startTestService } from '/work/wt-silent/testing/fixtures/service.ts'
it('set', async test => {
  const { SET } = await import(process.env.SET!)
  const service = await startTestService(test)
  const stat: any = { R: [0, 0], G: [0, 0], M: [0, 0], silent: 0 }
  for (const [i, [platform, kind, members]] of SET.entries()) {
    const event_id = `e-${i}`
    const m: any = structuredClone(members)
    if (kind !== 'G' && m.consent && !('advertising' in m.consent)) m.consent = { advertising: 'granted', ...m.consent }
    const { consent, ...event } = samplePurchase({ event_id })
    const reply = await service.submit({ ...event, ...m })
    let got: string
    if (reply.status === 422) got = '422 ' + Object.keys(reply.body.errors)
    else if (reply.status !== 202) got = String(reply.status) + JSON.stringify(reply.body)
    else {
      const { body } = await service.read(event_id)
      const d = body.deliveries[0]
      got = d.status === 'queued' ? 'delivered ' + body.event.consent.decision.reason : 'withheld ' + JSON.stringify(body.event.consent.decision.inputs).slice(0, 300) + ' N:' + (reply.body.notices ?? []).map((n: any) => n.code + ' ' + n.field).join('|')
    }
    const delivered = got.startsWith('delivered')
    const ok = kind === 'R' ? !delivered : delivered
    stat[kind][ok ? 0 : 1]++
    if (!ok) console.log(`MISS ${kind} ${platform} ${JSON.stringify(m).slice(0, 260)} -> ${got.slice(0, 300)}`)
  }
  console.log('RESULT', JSON.stringify(stat))
})
