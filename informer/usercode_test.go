package informer

import "testing"

func TestInsideCallback(t *testing.T) {
	if insideCallback() {
		t.Error("inside a callback, and there is none")
	}
	var deep func(n int) bool
	deep = func(n int) bool {
		if n == 0 {
			return insideCallback()
		}
		return deep(n-1) && true
	}
	if deep(1000) {
		t.Error("deep down, inside a callback, and there is none")
	}
	for _, n := range []int{0, 50, 64, 65, 1000} {
		inside := false
		userCode(func() { inside = deep(n) })
		if !inside {
			t.Errorf("at depth %d not inside a callback", n)
		}
	}
}
