// app/api/leads/route.ts
import { consent, Signalbox, UnprocessableEntityError } from '@signalbox/sdk'

// Made with the first request: at build time there is no token.
let signalbox: Signalbox | undefined

/** A route handler of the App Router. It takes a form of a lead and sends the event. */
export async function POST(request: Request): Promise<Response> {
  const lead = (await request.json()) as { id: string; email: string; marketing: boolean }
  if (!lead.marketing) return Response.json({ sent: false })
  signalbox ??= new Signalbox()
  try {
    const { event_id, duplicate } = await signalbox.events.create({
      event_id: `lead-${lead.id}`,
      event_name: 'Lead',
      consent_basis: 'consent',
      consent: consent.granted({ captured_at: new Date(), method: 'form' }),
      event_source: request.headers.get('referer') ?? undefined,
      user_data: {
        em: lead.email,
        client_user_agent: request.headers.get('user-agent') ?? undefined,
      },
    })
    return Response.json({ sent: true, event_id, duplicate })
  } catch (error) {
    if (!(error instanceof UnprocessableEntityError)) throw error
    return Response.json({ sent: false, errors: error.errors }, { status: 422 })
  }
}
