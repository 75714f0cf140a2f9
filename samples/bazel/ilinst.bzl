"""Weaves assemblies in hermetic actions: what is declared is all that is read, and all that is written.

The same inputs and options give the same bytes on any machine, so what was woven once comes from the cache, and an
action may run on any worker that has the tool.
"""

def _ilinst_woven_impl(ctx):
    outputs, assemblies = [], []
    folder = ctx.label.name
    for source in ctx.files.srcs:
        assemblies.append(source)
        outputs.append(ctx.actions.declare_file("%s/%s" % (folder, source.basename)))
        outputs.append(ctx.actions.declare_file("%s/%s.ilinst.json" % (folder, source.basename)))
    for pdb in ctx.files.pdbs:
        outputs.append(ctx.actions.declare_file("%s/%s" % (folder, pdb.basename)))
    tracker = ctx.actions.declare_file("%s/Ilinst.Tracker.dll" % folder)
    outputs.append(tracker)

    # An argument a line: no limit on how many, and nothing to be quoted.
    args = ctx.actions.args()
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    args.add("instrument")
    args.add_all(assemblies)
    args.add("-o", tracker.dirname + "/")
    args.add("--threads=1")
    args.add("-q")
    inputs = list(assemblies) + ctx.files.pdbs
    if ctx.file.config:
        args.add("--config", ctx.file.config)
        inputs.append(ctx.file.config)
    else:
        args.add("--no-config")
    if ctx.file.snk:
        args.add("--snk", ctx.file.snk)
        inputs.append(ctx.file.snk)
    args.add_all(ctx.attr.options)

    ctx.actions.run(
        executable = ctx.executable._ilinst,
        arguments = [args],
        inputs = inputs,
        outputs = outputs,
        mnemonic = "Ilinst",
        progress_message = "Weaving %{label}",
    )
    return [DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(files = outputs))]

ilinst_woven = rule(
    implementation = _ilinst_woven_impl,
    doc = "Assemblies with probes, their PDBs and manifests, and the tracker, in a folder of the rule's name.",
    attrs = {
        "srcs": attr.label_list(
            allow_files = [".dll", ".exe"],
            mandatory = True,
            doc = "The assemblies, each with methods to weave.",
        ),
        "pdbs": attr.label_list(
            allow_files = [".pdb"],
            doc = "Their portable PDBs, from the folders of the assemblies.",
        ),
        "config": attr.label(
            allow_single_file = [".toml"],
            doc = "An ilinst.toml; without one, none is looked for.",
        ),
        "snk": attr.label(
            allow_single_file = [".snk"],
            doc = "The key that strong names are signed with again.",
        ),
        "options": attr.string_list(
            doc = "More options of `ilinst instrument`, as --include=Shop.*",
        ),
        "_ilinst": attr.label(
            default = "//tools:ilinst",
            executable = True,
            cfg = "exec",
        ),
    },
)
