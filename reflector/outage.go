package reflector

import (
	"fmt"
	"time"
)

// Outage is the error that [Options.Fatal] is asked about, and that Run returns if
// the answer is yes.
type Outage struct {
	// Since is when the first request failed after which no watch has been open.
	Since time.Time

	// Err is the failure at hand.
	Err error
}

func (e *Outage) Error() string {
	return fmt.Sprintf("failing since %s: %v", e.Since.Format(time.RFC3339), e.Err)
}

// Unwrap returns the failure.
func (e *Outage) Unwrap() error { return e.Err }
