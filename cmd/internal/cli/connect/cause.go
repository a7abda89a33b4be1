package connect

import (
	"errors"
	"fmt"
	"io"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/transport"
)

// Cause says why a request failed or a watch ended, without what a line says anyway: what
// was asked for, and of what. An end in good order has no cause. The reason comes before the
// address, because the end of a line may be cut off.
func Cause(err error) string {
	if err == nil || err == io.EOF { //nolint:errorlint // a request without an answer wraps it
		return ""
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		s := status.Status()
		return fmt.Sprintf("%d %s: %s", s.Code, s.Reason, s.Message)
	}
	if request, ok := errors.AsType[*transport.RequestError](err); ok {
		err = request.Err
	}
	if network, ok := errors.AsType[*net.OpError](err); ok && network.Addr != nil {
		return fmt.Sprintf("%s (%s)", cause(network), network.Addr)
	}
	return err.Error()
}
