package signalbox

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	firstDelay    = 500 * time.Millisecond
	delayMax      = 8 * time.Second
	retryAfterMax = 60 * time.Second
)

// planRetry returns the delay before the next attempt, and false when there must be none. Attempts
// count from 1.
//
// The delay is exponential with jitter, so that clients that failed together do not return
// together. The service knows better: Retry-After replaces the delay, and one above a minute is
// for the caller to decide.
func planRetry(err error, attempt int, random func() float64) (time.Duration, bool) {
	if !isRetried(err) {
		return 0, false
	}
	var apiError *APIError
	if errors.As(err, &apiError) {
		if after, _ := apiError.RetryAfter(); after > 0 {
			return after, after <= retryAfterMax
		}
	}
	delay := delayMax
	// Five doublings pass the longest delay.
	if attempt <= 5 {
		delay = min(firstDelay<<(attempt-1), delayMax)
	}
	return time.Duration(float64(delay) * (1 - random()*0.25)), true
}

func isRetried(err error) bool {
	if errors.Is(err, ErrConnection) {
		return true
	}
	var apiError *APIError
	if !errors.As(err, &apiError) {
		return false
	}
	hint := strings.ToLower(apiError.Header().Get("X-Should-Retry"))
	switch apiError.Status {
	case 408, 429, 500, 502, 503, 504,
		// Those of Cloudflare, which could not reach the service behind it.
		520, 521, 522, 523, 524, 525, 526, 527:
		return hint != "false"
	}
	return hint == "true" && apiError.Status >= 500
}

// sleep returns the error of the context when that ends first.
func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
