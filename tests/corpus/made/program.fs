// F#: closures, a discriminated union, tail calls, a sequence, an asynchronous workflow.
module Program

type Shape =
    | Circle of radius: int
    | Box of width: int * height: int

let area shape =
    match shape with
    | Circle radius -> 3 * radius * radius
    | Box(width, height) -> width * height

let rec count step left total = if left = 0 then total else count step (left - 1) (total + step)

let rec even number = number = 0 || odd (number - 1)
and odd number = number <> 0 && even (number - 1)

let squares = seq { for i in 1..4 do yield i * i }

let later number = async {
    do! Async.Sleep 1
    return number + 1
}

exception Odd of int

[<EntryPoint>]
let main _ =
    [ Circle 2; Box(3, 4) ] |> List.map area |> List.iter (printfn "%d")
    printfn "%d %b" (count 3 100000 0) (even 100000)
    printfn "%A" (Seq.toList squares)
    printfn "%d" (later 41 |> Async.RunSynchronously)
    try raise (Odd 3) with Odd number -> printfn "odd %d" number
    9
