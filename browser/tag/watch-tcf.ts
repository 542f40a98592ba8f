import type { ConsentSignal } from './consent-basis.ts'
import type { Page, TcData } from './page.ts'

/**
 * Listens to the page's TCF consent platform, if there is one, and gives its state at any moment.
 * It grants when purposes 1, 3, 4 and 7 are consented (1 where it was asked), or when the platform
 * says that the GDPR does not apply. While its window is open the last state stands.
 */
export function watchTcf(page: Page, onChange: () => void): () => ConsentSignal {
  let signal: ConsentSignal = {}
  let isListening = false

  function hear(data: TcData, isSuccess: boolean): void {
    if (!isSuccess) return
    const { eventStatus } = data
    if (data.gdprApplies === false) signal = { state: 'granted' }
    else if (eventStatus === 'tcloaded' || eventStatus === 'useractioncomplete') signal = read(data)
    onChange()
  }

  return () => {
    // The platform may come after the tag, so that it is looked for each time.
    if (!isListening && page.__tcfapi) {
      isListening = true
      signal = { state: 'waiting' }
      page.__tcfapi('addEventListener', 2, hear)
    }
    return signal
  }
}

function read({ tcString, eventStatus, purposeOneTreatment, purpose }: TcData): ConsentSignal {
  const consents = purpose?.consents || {}
  const mayStore = consents[1] || purposeOneTreatment
  if (!(mayStore && consents[3] && consents[4] && consents[7])) return { state: 'denied' }
  const tcf: Record<string, unknown> = { string: tcString }
  // A string that was loaded says itself on which day it was made.
  if (eventStatus === 'useractioncomplete') tcf.captured_at = new Date().toISOString()
  return { state: 'granted', evidence: { tcf } }
}
