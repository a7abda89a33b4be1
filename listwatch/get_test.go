package listwatch

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

func TestGet(t *testing.T) {
	var asked string
	client := serve(t, func(w http.ResponseWriter, req *http.Request) {
		asked = req.URL.String()
		body(objectJSON)(w, req)
	})
	obj, meta, err := mustNew(t, client, Options[*configMap]{LabelSelector: "a=b"}).Get(t.Context(), "n/a")
	must.OK(t, err)
	if asked != "/api/v1/namespaces/n/configmaps/a" {
		t.Errorf("asked for %s", asked)
	}
	if obj.Data["k"] != "v" || meta != (object.Meta{Key: "n/a", UID: "u", ResourceVersion: "5"}) {
		t.Errorf("got %+v, %+v", obj, meta)
	}
}

func TestGetThatFails(t *testing.T) {
	isObjectError := func(err error) bool { return errors.As(err, new(*source.ObjectError)) }
	for name, test := range map[string]struct {
		key     string
		handler http.HandlerFunc
		is      func(error) bool
	}{
		"not there":      {"n/a", replay(t, "list-not-found.http"), apierrors.IsNotFound},
		"undecodable":    {"n/a", body(strings.Replace(objectJSON, `{"k":"v"}`, "7", 1)), isObjectError},
		"another object": {"n/b", body(objectJSON), source.IsMalformed},
		"no JSON":        {"n/a", body("garbage"), isObjectError},
		"no such key":    {"a/b/c", body(objectJSON), func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := mustNew(t, serve(t, test.handler), Options[*configMap]{}).Get(t.Context(), test.key)
			if !test.is(err) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
