package listwatch

import (
	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status implements [Encoding].
func (jsonEncoding) Status(object []byte) (status metav1.Status, ok bool) {
	if json.Unmarshal(object, &status, lenient) == nil {
		return status, true
	}
	// One field of the wrong shape does not make the others untrue.
	var core struct {
		Kind    string              `json:"kind"`
		Status  string              `json:"status"`
		Message string              `json:"message"`
		Reason  metav1.StatusReason `json:"reason"`
		Code    int32               `json:"code"`
	}
	if json.Unmarshal(object, &core, lenient) != nil {
		return metav1.Status{}, false
	}
	status = metav1.Status{Status: core.Status, Message: core.Message, Reason: core.Reason, Code: core.Code}
	status.Kind = core.Kind
	return status, true
}
