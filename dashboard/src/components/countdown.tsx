import { useEffect, useState } from 'react'

interface CountdownProps {
  /** As the service counted them when it answered, so that the clock of the browser is not used. */
  seconds: number
  /** When the answer arrived, as milliseconds of `Date.now()`. */
  since: number
  onEnd: () => void
}

/** The time until something ends, such as "23 h 59 min". */
export function Countdown({ seconds, since, onEnd }: CountdownProps) {
  const [now, setNow] = useState(Date.now)
  const left = Math.max(0, Math.round(seconds - (now - since) / 1_000))
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const hasEnded = left === 0
  useEffect(() => {
    if (hasEnded) onEnd()
  }, [hasEnded, onEnd])
  return formatDuration(left)
}

/** For example "2 h 5 min", "4 min 30 s" or "8 s". */
function formatDuration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
