//go:build go1.25

package signalbox

import "context"

func (r *caseRun) recordHooks() Hooks {
	record := func(hook string, info RequestInfo, more object) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.hooks = append(r.hooks, object{
			"hook": hook, "operation": info.Operation, "method": info.Method, "path": info.Path,
			"attempt": float64(info.Attempt), "status": more["status"],
			"request_id": more["request_id"], "delay_ms": more["delay_ms"],
		})
	}
	return Hooks{
		OnRequest: func(ctx context.Context, info *RequestInfo) context.Context {
			record("request", *info, nil)
			return ctx
		},
		OnResponse: func(_ context.Context, info ResponseInfo) {
			more := object{"request_id": info.RequestID}
			if info.Status != 0 {
				more["status"] = float64(info.Status)
			}
			record("response", info.RequestInfo, more)
		},
		OnRetry: func(_ context.Context, info RetryInfo) {
			record("retry", info.RequestInfo, object{"delay_ms": float64(info.Delay.Milliseconds())})
		},
		OnWarning: func(_ context.Context, warning WarningInfo) {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.hooks = append(r.hooks, object{
				"hook": "warning", "operation": warning.Operation, "event_id": warning.EventID,
				"code": warning.Code, "message": warning.Message,
			})
		},
	}
}
