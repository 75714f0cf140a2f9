' Visual Basic: On Error, static locals, exception filters, iterators, late arithmetic, events.
Imports Microsoft.VisualBasic
Imports System
Imports System.Collections.Generic
Imports System.Threading.Tasks

Module Program
    Event Counted(number As Integer)

    Function Main() As Integer
        AddHandler Counted, Sub(number) Console.WriteLine("counted " & number)
        For i As Integer = 1 To 2
            RaiseEvent Counted(NextNumber())
        Next
        Console.WriteLine(Filtered(0))
        Console.WriteLine(Unstructured(0))
        For Each word As String In Words()
            Console.WriteLine(word)
        Next
        Console.WriteLine(Later(41).Result)
        Return 10
    End Function

    Function NextNumber() As Integer
        Static number As Integer
        number += 1
        Return number
    End Function

    Function Filtered(divisor As Integer) As String
        Try
            Return (1 \ divisor).ToString()
        Catch problem As DivideByZeroException When divisor = 0
            Return "filtered"
        Finally
            Console.WriteLine("finally")
        End Try
    End Function

    Function Unstructured(divisor As Integer) As String
        On Error GoTo Problem
        Return (1 \ divisor).ToString()
Problem:
        Return "error " & Err.Number
    End Function

    Iterator Function Words() As IEnumerable(Of String)
        Yield "one"
        Yield "two"
    End Function

    Async Function Later(number As Integer) As Task(Of Integer)
        Await Task.Delay(1)
        Return number + 1
    End Function
End Module
