package mirror

import (
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/transport"
)

// cause says why a watch ended, without what the line says anyway: that it was a watch,
// and of what. An end in good order has no cause.
func cause(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return ""
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		s := status.Status()
		return fmt.Sprintf("%d %s: %s", s.Code, s.Reason, s.Message)
	}
	var request *transport.RequestError
	if errors.As(err, &request) {
		return request.Err.Error()
	}
	return err.Error()
}
