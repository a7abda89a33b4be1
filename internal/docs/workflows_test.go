package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/relist-go/relist/internal/must"
)

// workflow is what this test looks at of a workflow.
type workflow struct {
	On          any               `json:"true"` // YAML 1.1 takes the word on for that
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		RunsOn         string `json:"runs-on"`
		TimeoutMinutes int    `json:"timeout-minutes"`
		Steps          []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

var (
	makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):.* ## `)
	action     = regexp.MustCompile(`^actions/[a-z-]+@v\d+$`)
)

// Each workflow can be read, is given few rights and little time, and runs what is there: a
// target of the Makefile, a script of the repository, or go itself.
func TestWorkflowsRunWhatIsThere(t *testing.T) {
	t.Chdir(root)
	var targets []string
	for _, match := range makeTarget.FindAllStringSubmatch(readText(t, "Makefile"), -1) {
		targets = append(targets, match[1])
	}
	files := glob(t, ".github/workflows/*.yml")
	if len(files) != 3 {
		t.Errorf("there are %d workflows", len(files))
	}
	for _, file := range files {
		var w workflow
		if err := yaml.Unmarshal([]byte(readText(t, file)), &w); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if w.On == nil || len(w.Jobs) == 0 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: %+v", file, w)
		}
		for name, job := range w.Jobs {
			if job.RunsOn == "" || job.TimeoutMinutes == 0 || len(job.Steps) == 0 {
				t.Errorf("%s: the job %s is %+v", file, name, job)
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !action.MatchString(step.Uses) {
					t.Errorf("%s uses %s", file, step.Uses)
				}
				if (step.Uses == "") == (step.Run == "") {
					t.Errorf("%s: a step of %s neither runs nor uses anything, or does both", file, name)
				}
				if step.Run != "" {
					checkRuns(t, file, step.Run, targets)
				}
			}
		}
	}
}

func checkRuns(t *testing.T, file, run string, targets []string) {
	t.Helper()
	words := strings.Fields(run)
	switch {
	case strings.Contains(run, "${{"):
		t.Errorf("%s: %q takes text of others into a shell", file, run)
	case words[0] == "make" && len(words) == 2 && slices.Contains(targets, words[1]):
	case words[0] == "go" && (words[1] == "test" || words[1] == "vet"):
	case len(words) == 1 && strings.Contains(run, "/"):
		if info, err := os.Stat(filepath.FromSlash(run)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s runs %s: %v", file, run, err)
		}
	default:
		t.Errorf("%s runs %q, which is not there", file, run)
	}
}

// The tests run with the Go that go.mod names, and with a newer one.
func TestTwoVersionsOfGoAreTested(t *testing.T) {
	t.Chdir(root)
	script := readText(t, ".ci/run")
	newest := regexp.MustCompile(`(?m)^newest=(go1\.\d+\.\d+)$`).FindStringSubmatch(script)
	if newest == nil || !strings.Contains(script, `env GOTOOLCHAIN="$newest" make test-long `) || !regexp.MustCompile(`(?m)^step test \d+ make test( TESTFLAGS=.*)?$`).MatchString(script) {
		t.Fatal("two versions are not tested")
	}
	if least := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindStringSubmatch(readText(t, "go.mod")); strings.HasPrefix(newest[1], "go"+least[1]+".") {
		t.Errorf("both are go%s", least[1])
	}
}

// CONTRIBUTING.md says how long each target of the Makefile takes.
func TestContributingNamesEveryTarget(t *testing.T) {
	t.Chdir(root)
	page := readText(t, "CONTRIBUTING.md")
	for _, target := range makeTarget.FindAllStringSubmatch(readText(t, "Makefile"), -1) {
		command := "`make " + target[1]
		if target[1] != "help" && !strings.Contains(page, command+"`") && !strings.Contains(page, command+" ") {
			t.Errorf("CONTRIBUTING.md does not name make %s", target[1])
		}
	}
}

// Every module of the repository is looked at for updates.
func TestEveryModuleIsUpdated(t *testing.T) {
	t.Chdir(root)
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directory   string   `json:"directory"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	must.OK(t, yaml.Unmarshal([]byte(readText(t, ".github/dependabot.yml")), &config))
	var looked, modules []string
	for _, u := range config.Updates {
		if u.Ecosystem == "gomod" {
			looked = append(looked, u.Directories...)
		}
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == "dist" || name == ".git"):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			modules = append(modules, "/"+strings.TrimPrefix(path.Dir(name), "."))
		}
		return nil
	})
	must.OK(t, err)
	slices.Sort(looked)
	slices.Sort(modules)
	if !slices.Equal(looked, modules) {
		t.Errorf("updates are looked for in %q; the modules are in %q", looked, modules)
	}
}

// The templates can be read, and name commands and files that are there.
func TestTemplatesNameWhatIsThere(t *testing.T) {
	t.Chdir(root)
	var form struct {
		Name, Description string
		Body              []struct {
			Type       string
			ID         string
			Attributes map[string]string
		}
	}
	file := ".github/ISSUE_TEMPLATE/problem.yml"
	must.OK(t, yaml.Unmarshal([]byte(readText(t, file)), &form))
	if form.Name == "" || form.Description == "" || len(form.Body) < 4 || !strings.Contains(readText(t, file), "relist record --scrub") {
		t.Errorf("%s: %+v", file, form)
	}
	var links struct {
		ContactLinks []struct{ URL string } `json:"contact_links"`
	}
	must.OK(t, yaml.Unmarshal([]byte(readText(t, ".github/ISSUE_TEMPLATE/config.yml")), &links))
	for _, link := range links.ContactLinks {
		if !strings.Contains(readText(t, "SECURITY.md"), link.URL) {
			t.Errorf("SECURITY.md does not name %s", link.URL)
		}
	}
	makefile := readText(t, "Makefile")
	for _, target := range regexp.MustCompile("`make ([a-z-]+)`").FindAllStringSubmatch(readText(t, ".github/pull_request_template.md"), -1) {
		if !strings.Contains(makefile, "\n"+target[1]+":") {
			t.Errorf("there is no target %s", target[1])
		}
	}
}
