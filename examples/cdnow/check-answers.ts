import type { Answer } from './submit-event.ts'

export interface AnswerFigures {
  submissions: number
  accepted: number
  duplicates: number
  retries: number
  differences: string[]
}

/**
 * Every submission must be answered 202 and new, or 200 and duplicate; and no event may be new
 * twice, so of an event that was sent twice at least one copy is answered 200.
 */
export function checkAnswers(answers: readonly Answer[]): AnswerFigures {
  const newIds = new Set<string>()
  const figures: AnswerFigures = {
    submissions: answers.length,
    accepted: 0,
    duplicates: 0,
    retries: answers.reduce((sum, { retries }) => sum + retries, 0),
    differences: [],
  }
  for (const { eventId, status, duplicate } of answers) {
    if (status === 202 && duplicate === false) {
      figures.accepted += 1
      if (newIds.has(eventId)) figures.differences.push(`${eventId}: answered 202 twice`)
      newIds.add(eventId)
    } else if (status === 200 && duplicate === true) {
      figures.duplicates += 1
    } else {
      figures.differences.push(`${eventId}: answered ${status}, duplicate ${duplicate}`)
    }
  }
  return figures
}
