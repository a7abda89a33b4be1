package mirror

import (
	"io"
	"reflect"
	"testing"

	"github.com/relist-go/relist/reflector"
)

// Each function of the caller's trace is called: metrics are built on them.
func TestTracePassesEverythingOn(t *testing.T) {
	var next reflector.Trace
	called := map[string]bool{}
	fields := reflect.ValueOf(&next).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		fields.Field(i).Set(reflect.MakeFunc(fields.Field(i).Type(), func([]reflect.Value) []reflect.Value {
			called[name] = true
			return nil
		}))
	}
	trace := reflect.ValueOf(New(Options{}).trace(&next)).Elem()
	for i := range trace.NumField() {
		name := trace.Type().Field(i).Name
		f := trace.Field(i)
		if f.IsNil() {
			t.Errorf("%s is nil", name)
			continue
		}
		var args []reflect.Value
		for in := range f.Type().Ins() {
			args = append(args, reflect.Zero(in))
		}
		if name == "Problem" {
			args = []reflect.Value{reflect.ValueOf(reflector.Problem{Err: io.EOF})}
		}
		f.Call(args)
		if !called[name] {
			t.Errorf("%s is not passed on", name)
		}
	}
}
